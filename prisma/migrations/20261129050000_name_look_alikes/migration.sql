-- Names are compared with the look-alikes of all scripts. `prisma/look-alikes.ts` prints the tables of both functions from
-- https://www.unicode.org/Public/security/15.0.0/confusables.txt (Unicode 15.0).
--
-- Skeletons of more names are equal than before, also of names that differ by letters of one script: `l`, `I` and `1` have one
-- representative, because a letter of another script can look like each of them. names_differ_by_script() decides between them.
-- Nodes of the previous version do not call it: they also refuse new names such as `biII` beside `bill`.

-- Replaces the characters that look like a character of another script, in decomposed text. Other functions depend on it, and
-- it calls only functions of PostgreSQL, because the schema of the service is not in the search path while a dump is restored.
CREATE OR REPLACE FUNCTION "name_look_alikes"(p_text text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
BEGIN
  RETURN (
    SELECT coalesce(string_agg(coalesce(
    '{
"0":"o","O":"o","\u039f":"o","\u03bf":"o","\u03c3":"o","\u041e":"o","\u043e":"o","\u0555":"o","\u0585":"o","\u05e1":"o","\u0647":"o","\u0665":"o","\u06be":"o","\u06c1":"o","\u06d5":"o","\u06f5":"o","\u07c0":"o","\u0966":"o","\u09e6":"o","\u0a66":"o","\u0ae6":"o","\u0b20":"o","\u0b66":"o","\u0be6":"o","\u0c66":"o","\u0ce6":"o","\u0d20":"o","\u0d66":"o","\u0e50":"o","\u0ed0":"o","\u101d":"o","\u1040":"o","\u10ff":"o","\u12d0":"o","\u1d0f":"o","\u1d11":"o","\u2c9e":"o","\u2c9f":"o","\u2d54":"o","\u3007":"o","\ua4f3":"o","\uab3d":"o","\ud800\ude92":"o","\ud800\udeab":"o","\ud801\udc04":"o","\ud801\udc2c":"o","\ud801\udcc2":"o","\ud801\udcea":"o","\ud801\udd16":"o","\ud805\udcd0":"o","\ud806\udcb5":"o","\ud806\udcc8":"o","\ud806\udcd7":"o","\ud806\udce0":"o","\u10dd":"o",
"1":"l","I":"l","\u0131":"l","i":"l","\u0196":"l","\u01c0":"l","\u0269":"l","\u026a":"l","\u0399":"l","\u03b9":"l","\u0406":"l","\u0456":"l","\u04c0":"l","\u04cf":"l","\u05d5":"l","\u05df":"l","\u0627":"l","\u0661":"l","\u06f1":"l","\u07ca":"l","\u13a5":"l","\u16c1":"l","\u2223":"l","\u2373":"l","\u23fd":"l","\u2c92":"l","\u2d4f":"l","\ua4f2":"l","\ua647":"l","\uab75":"l","\ud800\ude8a":"l","\ud800\udf09":"l","\ud800\udf20":"l","\ud806\udcc3":"l","\ud81b\udf28":"l","\ud83a\udcc7":"l",
"\ud805\udf00":"m","\ud806\udce3":"m",
"\u04d4":"\u00c6",
"\u00d7":"x","\u0445":"x","\u1541":"x","\u157d":"x","\u292b":"x","\u292c":"x","\u2a2f":"x","\u03c7":"x",
"\u2d41":"\u00d8",
"\u04d5":"\u00e6",
"\ud83a\udccd":"\u00f0",
"\u045b":"\u0127",
"\u0584":"f","\u1e9d":"f","\ua799":"f","\uab35":"f",
"\u0462":"\u0180","\u0463":"\u0180","\u048c":"\u0180","\u048d":"\u0180",
"\u0183":"\u0182","\u0411":"\u0182",
"\u0184":"b","\u042c":"b","\u044c":"b","\u13cf":"b","\u1472":"b","\u15af":"b",
"\u018d":"g","\u0261":"g","\u0581":"g","\u1d83":"g",
"\u0398":"\u019f","\u03b8":"\u019f","\u0472":"\u019f","\u04e8":"\u019f","\u13be":"\u019f","\u13eb":"\u019f","\u2296":"\u019f","\u229d":"\u019f","\u236c":"\u019f","\u2d31":"\u019f","\ua74a":"\u019f","\ud834\ude1a":"\u019f","\ud83d\udf14":"\u019f",
"\u01a6":"R","\u13a1":"R","\u13d2":"R","\u1587":"R","\ua4e3":"R","\ud801\udcb4":"R","\ud81b\udf35":"R","\ud834\ude16":"R",
"\u01a7":"2","\u03e8":"2","\u14bf":"2","\ua644":"2","\ua6ef":"2","\ua75a":"2",
"\u01b7":"3","\u021c":"3","\u0417":"3","\u04e0":"3","\u2ccc":"3","\ua76a":"3","\ua7ab":"3","\ud806\udcca":"3","\ud81b\udf3b":"3","\ud834\ude06":"3",
"\u01bc":"5","\ud806\udcbb":"5",
"\u01bd":"s","\u0455":"s","\ua731":"s","\uabaa":"s","\ud801\udc48":"s","\ud806\udcc1":"s",
"\u01bf":"\u00fe","\u03f8":"\u00fe",
"\u05f0":"\u01c1","\u2225":"\u01c1",
"\u2d51":"\u01c3",
"\u0222":"8","\u0223":"8","\u09ea":"8","\u0a6a":"8","\ud800\udf1a":"8","\ud83a\udccb":"8",
"\u0294":"\u0241","\u097d":"\u0241","\u13ae":"\u0241","\ua6eb":"\u0241",
"\u13cc":"\u0244",
"\u0493":"\u024d",
"\u04b0":"\u024e",
"\u04b1":"\u024f",
"\u0251":"a","\u03b1":"a","\u0430":"a","\u237a":"a",
"\u0259":"\u01dd","\u04d9":"\u01dd",
"\ua793":"\u025b","\u0454":"\u025b","\u0511":"\u025b","\u22f4":"\u025b","\u2c89":"\u025b","\uab9b":"\u025b","\ud801\udc29":"\u025b","\ud806\udcce":"\u025b",
"\u0263":"y","\u028f":"y","\u03b3":"y","\u0443":"y","\u04af":"y","\u10e7":"y","\u1d8c":"y","\u1eff":"y","\uab5a":"y","\ud806\udcdc":"y",
"\u13f2":"\u0266","\ua695":"\u0266",
"\u026f":"w","\u0461":"w","\u051d":"w","\u0561":"w","\u1d21":"w","\uab83":"w","\ud805\udf0a":"w","\ud805\udf0e":"w","\ud805\udf0f":"w",
"\u0473":"\u0275","\u04e9":"\u0275","\ua74b":"\u0275","\uab8e":"\u0275","\uabbb":"\u0275",
"\u028b":"u","\u03c5":"u","\u057d":"u","\u1d1c":"u","\ua79f":"u","\uab4e":"u","\uab52":"u","\ud801\udcf6":"u","\ud806\udcd8":"u",
"\u0292":"\u021d","\u04e1":"\u021d","\u10f3":"\u021d","\u2ccd":"\u021d","\ua76b":"\u021d",
"\u02b9":"\ua78c","\u02bb":"\ua78c","\u02bc":"\ua78c","\u02bd":"\ua78c","\u02be":"\ua78c","\u02c8":"\ua78c","\u02ca":"\ua78c","\u02cb":"\ua78c","\u05d9":"\ua78c","\u07f4":"\ua78c","\u07f5":"\ua78c","\u144a":"\ua78c","\u16cc":"\ua78c",
"\u02ba":"\u05f2","\u02ee":"\u05f2",
"\u02bf":"\u0559",
"\u02d0":"\ua4fd",
"\u0d4e":"\u0971",
"\u0370":"\u2c75","\u13a8":"\u2c75","\u13b0":"\u2c75","\ua6b1":"\u2c75",
"\u0418":"\u0376","\ua6a1":"\u0376","\ud801\udc25":"\u0376","\ud834\ude0b":"\u0376",
"\u0377":"\u1d0e","\u0438":"\u1d0e","\ud801\udc4d":"\u1d0e",
"\u037b":"\u0254","\u1d10":"\u0254","\u2184":"\u0254","\ud801\udc4b":"\u0254",
"\u037d":"\ua73f",
"\u037f":"J","\u0408":"J","\u13ab":"J","\u148d":"J","\ua4d9":"J","\ua7b2":"J",
"\u0391":"A","\u0410":"A","\u13aa":"A","\u15c5":"A","\ua4ee":"A","\ud800\udea0":"A","\ud81b\udf40":"A",
"\u0392":"B","\u0412":"B","\u13f4":"B","\u15f7":"B","\ua4d0":"B","\ua7b4":"B","\ud800\ude82":"B","\ud800\udea1":"B","\ud800\udf01":"B",
"\u0395":"E","\u0415":"E","\u13ac":"E","\u22ff":"E","\u2d39":"E","\ua4f0":"E","\ud800\ude86":"E","\ud806\udca6":"E","\ud806\udcae":"E",
"\u0396":"Z","\u13c3":"Z","\ua4dc":"Z","\ud800\udef5":"Z","\ud806\udca9":"Z","\ud806\udce5":"Z",
"\u0397":"H","\u041d":"H","\u13bb":"H","\u157c":"H","\u2c8e":"H","\ua4e7":"H","\ud800\udecf":"H",
"\u039a":"K","\u041a":"K","\u13e6":"K","\u16d5":"K","\u2c94":"K","\ua4d7":"K","\ud801\udd18":"K",
"\u039b":"\u0245","\u041b":"\u0245","\u0668":"\u0245","\u06f8":"\u0245","\u1431":"\u0245","\u2d37":"\u0245","\ua4e5":"\u0245","\ua6ce":"\u0245","\ud800\ude8d":"\u0245","\ud801\udcb0":"\u0245","\ud81b\udf3d":"\u0245",
"\u039c":"M","\u03fa":"M","\u041c":"M","\u13b7":"M","\u15f0":"M","\u16d6":"M","\u2c98":"M","\ua4df":"M","\ud800\udeb0":"M","\ud800\udf11":"M","\ud800\udf0c":"M",
"\u039d":"N","\u2c9a":"N","\ua4e0":"N","\ud801\udd13":"N",
"\u03a1":"P","\u0420":"P","\u13e2":"P","\u146d":"P","\u2ca2":"P","\ua4d1":"P","\ud800\ude95":"P",
"\u03a3":"\u01a9","\u2211":"\u01a9","\u2d49":"\u01a9",
"\u03a4":"T","\u0422":"T","\u13a2":"T","\u22a4":"T","\u27d9":"T","\u2ca6":"T","\ua4d4":"T","\ud800\ude97":"T","\ud800\udeb1":"T","\ud800\udf15":"T","\ud806\udcbc":"T","\ud81b\udf0a":"T","\ud83d\udf68":"T",
"\u03a5":"Y","\u0423":"Y","\u04ae":"Y","\u13a9":"Y","\u13bd":"Y","\u2ca8":"Y","\ua4ec":"Y","\ud800\udeb2":"Y","\ud806\udca4":"Y","\ud81b\udf43":"Y",
"\u03a7":"X","\u0425":"X","\u166d":"X","\u16b7":"X","\u2573":"X","\u2cac":"X","\u2d5d":"X","\ua4eb":"X","\ua7b3":"X","\ud800\ude90":"X","\ud800\udeb4":"X","\ud800\udf17":"X","\ud800\udf22":"X","\ud801\udd27":"X","\ud806\udcec":"X",
"\u03b2":"\u00df","\u13f0":"\u00df","\ua7b5":"\u00df",
"\u03b4":"\u1e9f","\u056e":"\u1e9f","\u1577":"\u1e9f",
"\u03b5":"e","\u0435":"e","\u04bd":"e","\u212e":"e","\uab32":"e",
"\u03b7":"n","\u0578":"n","\u057c":"n",
"\u03ba":"k","\u043a":"k",
"\u1d0b":"\u0138","\u2c95":"\u0138","\uabb6":"\u0138",
"\u03bd":"v","\u0475":"v","\u05d8":"v","\u1d20":"v","\u2228":"v","\u22c1":"v","\uaba9":"v","\ud805\udf06":"v","\ud806\udcc0":"v",
"\u03c1":"p","\u0440":"p","\u2374":"p","\u2ca3":"p",
"\u03c4":"t",
"\u0442":"\u1d1b","\uab72":"\u1d1b",
"\u03c6":"\u0278","\u0444":"\u0278","\u2cab":"\u0278",
"\u043f":"\u03c0","\u1d28":"\u03c0",
"\u03dc":"F","\u15b4":"F","\ua4dd":"F","\ua798":"F","\ud800\ude87":"F","\ud800\udea5":"F","\ud801\udd25":"F","\ud806\udca2":"F","\ud806\udcc2":"F","\ud834\ude13":"F",
"\u03e9":"\u01a8","\u1d24":"\u01a8","\ua645":"\u01a8",
"\u0441":"c","\u1d04":"c","\u2ca5":"c","\uabaf":"c","\ud801\udc3d":"c",
"\u03f3":"j","\u0458":"j","\u0575":"j",
"\u03f7":"\u00de","\ud801\udcc4":"\u00de",
"\u0421":"C","\u13df":"C","\u2ca4":"C","\ua4da":"C","\ud800\udea2":"C","\ud800\udf02":"C","\ud801\udc15":"C","\ud801\udd1c":"C","\ud806\udce9":"C","\ud806\udcf2":"C","\ud83d\udf4c":"C",
"\u03fd":"\u0186","\u2183":"\u0186","\ua4db":"\u0186","\ud801\udc23":"\u0186",
"\u03ff":"\ua73e",
"\u0404":"\ua792","\u2c88":"\ua792",
"\u0405":"S","\u054f":"S","\u13d5":"S","\u13da":"S","\ua4e2":"S","\ud800\ude96":"S","\ud801\udc20":"S","\ud81b\udf3a":"S",
"\u0413":"\u0393","\u13b1":"\u0393","\u14a5":"\u0393","\u2c84":"\u0393","\ud81b\udf07":"\u0393",
"\u041f":"\u03a0","\u220f":"\u03a0","\u2ca0":"\u03a0","\ua6db":"\u03a0",
"\u0424":"\u03a6","\u0553":"\u03a6","\u1240":"\u03a6","\u16f0":"\u03a6","\u2caa":"\u03a6","\ud800\udeb3":"\u03a6",
"\u0431":"6","\u13ee":"6","\u2cd2":"6","\ud806\udcd5":"6",
"\u0432":"\u0299","\u13fc":"\u0299",
"\u0433":"r","\u1d26":"r","\u2c85":"r","\uab47":"r","\uab48":"r","\uab81":"r",
"\u0437":"\u025c","\u1d08":"\u025c",
"\u043c":"\u028d","\u1d0d":"\u028d","\uab87":"\u028d",
"\u043d":"\u029c","\uab8b":"\u029c",
"\uab9f":"\u0185",
"\u044f":"\u1d19",
"\u0470":"\u03a8","\u16d8":"\u03a8","\u2cae":"\u03a8","\ud800\udeb5":"\u03a8","\ud801\udcd1":"\u03a8",
"\u0471":"\u03c8","\ud801\udcf9":"\u03c8",
"\u0474":"V","\u0667":"V","\u06f7":"V","\u13d9":"V","\u142f":"V","\u2d38":"V","\ua4e6":"V","\ua6df":"V","\ud801\udd1d":"V","\ud806\udca0":"V","\ud81b\udf08":"V","\ud834\ude0d":"V",
"\u049a":"\u2c69",
"\u049e":"\ua740",
"\u04a2":"\u2c67",
"\u04bb":"h","\u0570":"h","\u13c2":"h",
"\u04d8":"\u018f",
"\u0501":"d","\u13e7":"d","\u146f":"d","\ua4d2":"d",
"\u050a":"\u01f6",
"\u050c":"G","\u13c0":"G","\u13f3":"G","\ua4d6":"G",
"\u050d":"\u0262","\u13fb":"\u0262","\uab90":"\u0262",
"\u0510":"\u0190","\u13cb":"\u0190","\ud801\udc01":"\u0190","\ud81b\udf2d":"\u0190","\ud834\ude21":"\u0190",
"\u051b":"q","\u0563":"q","\u0566":"q",
"\u051c":"W","\u13b3":"W","\u13d4":"W","\ua4ea":"W","\ud806\udce6":"W","\ud806\udcef":"W",
"\u12ae":"\u053b",
"\u1206":"\u0544",
"\u1323":"\u054a",
"\u1261":"\u054c",
"\u054d":"U","\u1200":"U","\u144c":"U","\u222a":"U","\u22c3":"U","\ua4f4":"U","\ud801\udcce":"U","\ud806\udcb8":"U","\ud81b\udf42":"U",
"\u057a":"\u0270","\u1223":"\u0270",
"\u06f0":"\u0660","\ua4f8":"\u0660",
"\u06f2":"\u0662","\ua9cf":"\u0662",
"\u06f3":"\u0663","\ud83a\udcc9":"\u0663",
"\u06f9":"\u0669","\u0967":"\u0669","\ud806\udce4":"\u0669",
"\u08b1":"\u0648","\ud800\udee4":"\u0648",
"\u09ed":"9","\u0a67":"9","\u0b68":"9","\u0d6d":"9","\u2cca":"9","\ua76e":"9","\ud806\udcac":"9","\ud806\udccc":"9","\ud806\udcd6":"9",
"\u0abd":"\u093d",
"\u0ae8":"\u0968",
"\u0ae9":"\u0969",
"\u0aea":"\u096a",
"\u0aee":"\u096e",
"\u0b9c":"\u0b90","\u0d1c":"\u0b90",
"\u0be8":"\u0b89","\u0d09":"\u0b89",
"\u0c93":"\u0c13",
"\u0c94":"\u0c14",
"\u0c85":"\u0c05",
"\u0c86":"\u0c06",
"\u0c87":"\u0c07",
"\u0c92":"\u0c12",
"\u0c9c":"\u0c1c",
"\u0c9e":"\u0c1e",
"\u0ca3":"\u0c23",
"\u0caf":"\u0c2f",
"\u0cb1":"\u0c31",
"\u0cb2":"\u0c32",
"\u0ce7":"\u0c67",
"\u0ce8":"\u0c68",
"\u0cef":"\u0c6f",
"\u0d23":"\u0ba3",
"\u0d34":"\u0bb4",
"\u0d36":"\u0bb6",
"\u0e88":"\u0e08",
"\u0e8d":"\u0e22",
"\u0e9a":"\u0e1a",
"\u0e9b":"\u0e1b",
"\u0e9d":"\u0e1d",
"\u0e9e":"\u0e1e",
"\u0e9f":"\u0e1f",
"\u10a0":"\ua786",
"\u1173":"\ua7f7","\u30fc":"\ua7f7","\u2500":"\ua7f7","\u2501":"\ua7f7","\u31d0":"\ua7f7","\u4e00":"\ua7f7",
"\u1175":"\u4e28",
"\u1260":"\ud834\ude45","\u0548":"\ud834\ude45","\u144e":"\ud834\ude45","\u2229":"\ud834\ude45","\u22c2":"\ud834\ude45","\ua4f5":"\ud834\ude45",
"\u1294":"\u0571",
"\u13a0":"D","\u15de":"D","\u15ea":"D","\ua4d3":"D",
"\u13bf":"\u01ab",
"\u13c7":"\ud834\ude22","\u0460":"\ud834\ude22","\u15ef":"\ud834\ude22",
"\u13ce":"4","\ud806\udcaf":"4",
"\u13de":"L","\u14aa":"L","\u2cd0":"L","\ua4e1":"L","\ud801\udc1b":"L","\ud801\udd26":"L","\ud806\udca3":"L","\ud806\udcb2":"L","\ud81b\udf16":"L","\ud834\ude2a":"L","\u053c":"L",
"\u1403":"\u0394","\u2206":"\u0394","\u25b3":"\u0394","\u2c86":"\u0394","\u2d60":"\u0394","\ud800\ude85":"\u0394","\ud800\udea3":"\u0394","\ud81b\udf1a":"\u0394","\ud83d\udf02":"\u0394",
"\u1427":"\ua78f","\u2219":"\ua78f","\u22c5":"\ua78f",
"\u1433":"\ud834\ude37","\ud81b\udf3f":"\ud834\ude37",
"\u1438":"\ud834\ude36","\u16b2":"\ud834\ude36",
"\u1445":"\u2cb4",
"\u15b5":"\u2132","\ua4de":"\u2132",
"\u15b7":"\ua7fb","\ud834\ude30":"\ua7fb",
"\u15c4":"\u2c6f","\u2200":"\u2c6f","\ua4ef":"\u2c6f","\ud834\ude17":"\u2c6f",
"\u162e":"\u01b1","\u1634":"\u01b1","\u2127":"\u01b1",
"\u162f":"\u03a9","\u1635":"\u03a9","\ud800\udeb6":"\u03a9",
"\u1d22":"z","\uab93":"z","\ud806\udcc4":"z",
"\u1d27":"\u028c","\ud801\udcd8":"\u028c",
"\u1d29":"\u1d18","\uabb2":"\u1d18",
"\u043b":"\u03bb","\u2c96":"\u03bb","\ud801\udcdb":"\u03bb",
"\uab9c":"\u1d7e",
"\u2044":"\ud834\ude3a","\u2215":"\ud834\ude3a","\u2571":"\ud834\ude3a","\u27cb":"\ud834\ude3a","\u29f8":"\ud834\ude3a","\u2cc6":"\ud834\ude3a","\u3033":"\ud834\ude3a","\u30ce":"\ud834\ude3a","\u31d3":"\ud834\ude3a","\u4e3f":"\ud834\ude3a",
"\u2108":"\u042d",
"\u2d55":"Q","\u051a":"Q",
"\u2129":"\u027f",
"\u2142":"\ud834\ude15","\ua4f6":"\ud834\ude15","\ud801\udc11":"\ud834\ude15","\ud81b\udf26":"\ud834\ude15","\ud834\ude2b":"\ud834\ude15",
"\u2203":"\u018e","\u2d3a":"\u018e","\ua4f1":"\u018e",
"\u2216":"\ud834\ude0f","\u27cd":"\ud834\ude0f","\u29f5":"\ud834\ude0f","\u29f9":"\ud834\ude0f","\u31d4":"\ud834\ude0f","\u4e36":"\ud834\ude0f","\ud834\ude3b":"\ud834\ude0f",
"\u221e":"\ua74f","\ua699":"\ua74f",
"\u222b":"\u0283","\uab4d":"\u0283",
"\u2295":"\ua69a","\ud800\udea8":"\ua69a","\u2a01":"\ua69a","\ud83d\udf28":"\ua69a",
"\u2299":"\u0298","\u2609":"\u0298","\u2a00":"\u0298","\u2d59":"\u0298","\ua668":"\u0298","\ud801\udcc3":"\u0298",
"\u22a5":"\ua7b1","\ua4d5":"\ua7b1","\u27c2":"\ua7b1","\ud834\ude1c":"\ua7b1",
"\u16dc":"\ud800\ude94","\ud806\udcb7":"\ud800\ude94",
"\u2375":"\ua7b7","\u03c9":"\ua7b7","\u2cb1":"\ua7b7","\ua64d":"\ua7b7",
"\u25bd":"\ud834\ude14","\ud800\udebc":"\ud834\ude14","\ud83d\udf04":"\ud834\ude14",
"\ud802\udd9e":"\ud80c\udef9",
"\u2cad":"\uab53","\uab55":"\uab53",
"\u2cbc":"\u0428",
"\u2cbd":"\u0448",
"\u2cd1":"\u029f","\uabae":"\u029f","\ud801\udc43":"\u029f",
"\u2ce4":"\u03d7",
"\u2d63":"\u16ef",
"\u30a4":"\u4ebb",
"\u30cb":"\u4e8c",
"\u30cf":"\u516b",
"\u30ab":"\u529b",
"\u30c8":"\u535c",
"\u30ed":"\u53e3","\u56d7":"\u53e3",
"\u30bf":"\u5915",
"\u30a8":"\u5de5",
"\u304f":"\ud847\udfe8",
"\u3078":"\u30d8",
"\u1660":"\ua4ed",
"\u15e1":"\ua4f7",
"\ua698":"\ua74e",
"\ua6b0":"\u16b9",
"\ua6cd":"\u02a1",
"\ud801\udc12":"\ua79a",
"\ud801\udc3a":"\ua79b",
"\ua79d":"\u029a","\ud801\udc2a":"\u029a",
"\ua4e4":"\ua79e",
"\ua64c":"\ua7b6",
"\u2c3f":"\ua992",
"\u0459":"\uab60",
"\uab70":"\u1d05",
"\uab71":"\u0280","\uaba2":"\u0280",
"\uab7a":"\u1d00",
"\uab7b":"\u1d0a",
"\uab7c":"\u1d07",
"\uab7e":"\u0242",
"\uab80":"\u2c76",
"\ud800\udee1":"\u062f",
"\ud800\udef2":"\u0635",
"\ud800\udee8":"\u0637",
"\ud800\udead":"\u03d8","\ud800\udf12":"\u03d8",
"\u2d40":"\ud800\udeb8",
"\ud800\udfd1":"\ud800\udf82",
"\ud800\udfd3":"\ud800\udf93",
"\ud801\udc1f":"\u2c70",
"\ud801\udc3f":"\u0277",
"\ud801\udc42":"\u025e",
"\ud801\udcbc":"\u04c3",
"\ud801\udccd":"\u040b",
"\u16e6":"\ud801\udcd0",
"\ud801\udcd2":"7","\ud806\udcc6":"7","\ud834\ude12":"7",
"\ud801\udceb":"\ua669",
"\ud804\udddc":"\ua8fb",
"\ud805\udc92":"\u0998",
"\ud805\udc94":"\u099a",
"\ud805\udc96":"\u099c",
"\ud805\udc98":"\u099e",
"\ud805\udc99":"\u099f",
"\ud805\udc9b":"\u09a1",
"\ud805\udc9d":"\u09b2",
"\ud805\udc9e":"\u09a4",
"\ud805\udc9f":"\u09a5",
"\ud805\udca0":"\u09a6",
"\ud805\udca1":"\u09a7",
"\ud805\udca2":"\u09a8",
"\ud805\udca3":"\u09aa",
"\ud805\udca7":"\u09ae",
"\ud805\udca8":"\u09af",
"\ud805\udca9":"\u09ac",
"\ud805\udcaa":"\u09a3",
"\ud805\udcab":"\u09b0",
"\ud805\udcad":"\u09b7",
"\ud805\udcae":"\u09b8",
"\ud805\udcc4":"\u09bd",
"\ud805\udcd1":"\u09e7",
"\ud805\udcd2":"\u09e8",
"\ud805\udcd6":"\u09ec",
"\ud808\udc38":"\ud800\udf9a",
"\ud81b\udf1c":"\ua658","\ud83d\udf01":"\ua658",
"\u04fe":"\ud834\ude02",
"\u16cb":"\ud834\ude3f"
}'::jsonb ->> one, one), '' ORDER BY place), '')
    FROM string_to_table(p_text, NULL) WITH ORDINALITY AS of_text (one, place)
  );
END
$$;

-- Returns a text in ASCII in lower case, with white space collapsed, and with the representatives of `i`, `1` and `0`.
CREATE OR REPLACE FUNCTION "name_skeleton_of_ascii"(p_text text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN translate(trim(regexp_replace(lower(p_text COLLATE "C"), '[ \t\n\r\f\v]+', ' ', 'g')), 'i10', 'llo');

-- Returns whether two names with equal skeletons differ only by characters of different scripts.
CREATE OR REPLACE FUNCTION "names_differ_by_script"(p_one text, p_other text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
DECLARE
  -- The small characters of each script that look like one of another script.
  v_scripts CONSTANT text[] := ARRAY[
    U&'0123456789abcdefghijklmnopqrstuvwxyz\00df\00e6\00f0\00f8\00fe\0127\0131\0138\0180\0183\0185\018d\0195\01a8\01ab\01bd\01bf\01c0\01c1\01c3\01dd\021d\0223\0242\024d\024f\0250\0251\0252\0254\0259\025b\025c\025e\0261\0262\0263\0266\0269\026a\026f\0270\0275\0277\0278\027f\0280\0283\0287\0289\028a\028b\028c\028d\028f\0292\0294\0298\0299\029a\029c\029d\029f\02a1\1d00\1d04\1d05\1d07\1d08\1d0a\1d0b\1d0d\1d0e\1d0f\1d10\1d11\1d18\1d19\1d1b\1d1c\1d20\1d21\1d22\1d24\1d7e\1d83\1d8c\1e9d\1e9f\1eff\214e\2184\2c68\2c6a\2c76\a731\a73f\a741\a74b\a74f\a75b\a76b\a76f\a787\a78c\a78f\a793\a799\a79b\a79d\a79f\a7b5\a7b7\a7f7\a7fb\ab32\ab35\ab3d\ab47\ab48\ab4d\ab4e\ab52\ab53\ab55\ab5a\ab60', -- Latin
    U&'\0371\0377\037b\037d\03b1\03b2\03b3\03b4\03b5\03b6\03b7\03b8\03b9\03ba\03bb\03bc\03bd\03bf\03c0\03c1\03c3\03c4\03c5\03c6\03c7\03c8\03c9\03d7\03d9\03dd\03f3\03f8\03fb\1d26\1d27\1d28\1d29\+01d202\+01d206\+01d20b\+01d20d\+01d20f\+01d212\+01d213\+01d214\+01d215\+01d216\+01d217\+01d21a\+01d21c\+01d221\+01d222\+01d22a\+01d22b\+01d230\+01d236\+01d237\+01d23a\+01d23b\+01d23f\+01d245', -- Greek
    U&'\0430\0431\0432\0433\0435\0437\0438\043a\043b\043c\043d\043e\043f\0440\0441\0442\0443\0444\0445\0448\044c\044d\044f\0454\0455\0456\0458\0459\045b\0461\0463\0471\0473\0475\048d\0493\049b\049f\04a3\04af\04b1\04bb\04bd\04c4\04cf\04d5\04d9\04e1\04e9\04ff\0501\050b\050d\0511\051b\051d\a645\a647\a64d\a659\a669\a695\a699\a69b', -- Cyrillic
    U&'\0559\0561\0563\0566\056b\056c\056e\0570\0571\0574\0575\0578\057a\057c\057d\057f\0581\0583\0584\0585', -- Armenian
    U&'\05d5\05d8\05d9\05df\05e1\05f0\05f2', -- Hebrew
    U&'\0627\062f\0635\0637\0647\0648\0660\0661\0662\0663\0665\0667\0668\0669\06be\06c1\06d5\06f0\06f1\06f2\06f3\06f5\06f7\06f8\06f9\08b1', -- Arabic
    U&'\07c0\07ca\07f4\07f5', -- Nko
    U&'\093d\0966\0967\0968\0969\096a\096e\0971\097d\a8fb', -- Devanagari
    U&'\0998\099a\099c\099e\099f\09a1\09a3\09a4\09a5\09a6\09a7\09a8\09aa\09ac\09ae\09af\09b0\09b2\09b7\09b8\09bd\09e6\09e7\09e8\09ea\09ec\09ed', -- Bengali
    U&'\0a66\0a67\0a6a', -- Gurmukhi
    U&'\0abd\0ae6\0ae8\0ae9\0aea\0aee', -- Gujarati
    U&'\0b20\0b66\0b68', -- Oriya
    U&'\0b89\0b90\0b9c\0ba3\0bb4\0bb6\0be6\0be8', -- Tamil
    U&'\0c05\0c06\0c07\0c12\0c13\0c14\0c1c\0c1e\0c23\0c2f\0c31\0c32\0c66\0c67\0c68\0c6f', -- Telugu
    U&'\0c85\0c86\0c87\0c92\0c93\0c94\0c9c\0c9e\0ca3\0caf\0cb1\0cb2\0ce6\0ce7\0ce8\0cef', -- Kannada
    U&'\0d09\0d1c\0d20\0d23\0d34\0d36\0d4e\0d66\0d6d', -- Malayalam
    U&'\0e08\0e1a\0e1b\0e1d\0e1e\0e1f\0e22\0e50', -- Thai
    U&'\0e88\0e8d\0e9a\0e9b\0e9d\0e9e\0e9f\0ed0', -- Lao
    U&'\101d\1040', -- Myanmar
    U&'\10dd\10e7\10f3\10ff\2d00', -- Georgian
    U&'\1200\1206\1223\1240\1260\1261\1294\12ae\12d0\1323', -- Ethiopic
    U&'\03e9\2c85\2c87\2c89\2c8f\2c93\2c95\2c97\2c99\2c9b\2c9f\2ca1\2ca3\2ca5\2ca7\2ca9\2cab\2cad\2caf\2cb1\2cb5\2cbd\2cc7\2ccb\2ccd\2cd1\2cd3\2ce4', -- Coptic
    U&'\2d31\2d37\2d38\2d39\2d3a\2d40\2d41\2d49\2d4f\2d51\2d54\2d55\2d59\2d5d\2d60\2d63', -- Tifinagh
    U&'\3007\4e00\4e28\4e36\4e3f\4e8c\4ebb\516b\529b\535c\53e3\56d7\5915\5de5\+021fe8', -- Han
    U&'\a4d0\a4d1\a4d2\a4d3\a4d4\a4d5\a4d6\a4d7\a4d9\a4da\a4db\a4dc\a4dd\a4de\a4df\a4e0\a4e1\a4e2\a4e3\a4e4\a4e5\a4e6\a4e7\a4ea\a4eb\a4ec\a4ed\a4ee\a4ef\a4f0\a4f1\a4f2\a4f3\a4f4\a4f5\a4f6\a4f7\a4f8\a4fd', -- Lisu
    U&'\+010282\+010285\+010286\+010287\+01028a\+01028d\+010290\+010292\+010294\+010295\+010296\+010297', -- Lycian
    U&'\+0102a0\+0102a1\+0102a2\+0102a3\+0102a5\+0102a8\+0102ab\+0102ad\+0102b0\+0102b1\+0102b2\+0102b3\+0102b4\+0102b5\+0102b6\+0102b8\+0102bc\+0102cf', -- Carian
    U&'\+010429\+01042a\+01042c\+010439\+01043a\+01043d\+01043f\+010442\+010443\+010447\+010448\+01044b\+01044d', -- Deseret
    U&'\+0104d8\+0104db\+0104dc\+0104e4\+0104ea\+0104eb\+0104ec\+0104f5\+0104f6\+0104f8\+0104f9\+0104fa', -- Osage
    U&'\+010513\+010516\+010518\+01051c\+01051d\+010525\+010526\+010527', -- Elbasan
    U&'\+011492\+011494\+011496\+011498\+011499\+01149b\+01149d\+01149e\+01149f\+0114a0\+0114a1\+0114a2\+0114a3\+0114a7\+0114a8\+0114a9\+0114aa\+0114ab\+0114ad\+0114ae\+0114c4\+0114d0\+0114d1\+0114d2\+0114d6', -- Tirhuta
    U&'\+0118c0\+0118c1\+0118c2\+0118c3\+0118c4\+0118c6\+0118c8\+0118c9\+0118ca\+0118cc\+0118ce\+0118cf\+0118d2\+0118d5\+0118d6\+0118d7\+0118d8\+0118db\+0118dc\+0118e0\+0118e3\+0118e4\+0118e5\+0118e6\+0118e9\+0118ec\+0118ef\+0118f2', -- Warang_Citi
    U&'\13f8\13fa\13fb\13fc\ab70\ab71\ab72\ab75\ab78\ab79\ab7a\ab7b\ab7c\ab7e\ab80\ab81\ab83\ab87\ab8b\ab8d\ab8e\ab8f\ab90\ab92\ab93\ab97\ab9b\ab9c\ab9e\ab9f\aba2\aba4\aba5\aba9\abaa\abae\abaf\abb2\abb6\abb7\abbb\abbe', -- Cherokee
    U&'\16b2\16b7\16b9\16c1\16cb\16cc\16d5\16d6\16d8\16dc\16e6\16ef\16f0', -- Runic
    U&'\00d7\02b9\02ba\02bb\02bc\02bd\02be\02bf\02c8\02ca\02cb\02d0\02ee\2044\2108\2127\2129\212e\2142\2200\2203\2206\220f\2211\2215\2216\2219\221e\2223\2225\2228\2229\222a\222b\2295\2296\2299\229d\22a4\22a5\22c1\22c2\22c3\22c5\22f4\22ff\236c\2373\2374\2375\237a\23fd\2500\2501\2571\2573\25b3\25bd\2609\27c2\27cb\27cd\27d9\292b\292c\29f5\29f8\29f9\2a00\2a01\2a2f\3033\30fc\31d0\31d3\31d4\a9cf\+0102e1\+0102e4\+0102e8\+0102f2\+0102f5\+01f701\+01f702\+01f704\+01f714\+01f728\+01f74c\+01f768', -- Common
    U&'\+010301\+010302\+010309\+01030c\+010311\+010312\+010315\+010317\+01031a\+010320\+010322', -- Old_Italic
    U&'\+016f07\+016f08\+016f0a\+016f16\+016f1a\+016f1c\+016f26\+016f28\+016f2d\+016f35\+016f3a\+016f3b\+016f3d\+016f3f\+016f40\+016f42\+016f43', -- Miao
    U&'\+01e8c7\+01e8c9\+01e8cb\+01e8cd', -- Mende_Kikakui
    U&'\+011700\+011706\+01170a\+01170e\+01170f', -- Ahom
    U&'\1403\1427\142f\1431\1433\1438\1445\144a\144c\144e\146d\146f\1472\148d\14a5\14aa\14bf\1541\1577\157c\157d\1587\15af\15b4\15b5\15b7\15c4\15c5\15de\15e1\15ea\15ef\15f0\15f7\162e\162f\1634\1635\1660\166d', -- Canadian_Aboriginal
    U&'\a6a1\a6b0\a6b1\a6cd\a6ce\a6db\a6df\a6eb\a6ef', -- Bamum
    U&'\1173\1175', -- Hangul
    U&'\30a4\30a8\30ab\30bf\30c8\30cb\30ce\30cf\30d8\30ed', -- Katakana
    U&'\+01099e', -- Meroitic_Hieroglyphs
    U&'\+0132f9', -- Egyptian_Hieroglyphs
    U&'\304f\3078', -- Hiragana
    U&'\a992', -- Javanese
    U&'\2c3f', -- Glagolitic
    U&'\+0103d1\+0103d3', -- Old_Persian
    U&'\+010382\+010393\+01039a', -- Ugaritic
    U&'\+0111dc', -- Sharada
    U&'\+012038' -- Cuneiform
  ];
  v_names text[] := ARRAY[search_decomposed(p_one), search_decomposed(p_other)];
  v_one text;
  v_other text;
BEGIN
  FOR i IN 1..2 LOOP
    v_names[i] := trim(regexp_replace(
      regexp_replace(v_names[i], '[\U000e0001\U000e0100-\U000e01ef]+', '', 'g'),
      '[ \t\n\r\f\v\u0085\u1680\u2028\u2029]+', ' ', 'g'));
  END LOOP;
  IF v_names[1] = v_names[2] THEN RETURN true; END IF;
  FOR v_one, v_other IN
    SELECT DISTINCT a, b FROM ROWS FROM (string_to_table(v_names[1], NULL), string_to_table(v_names[2], NULL)) AS both_names (a, b)
    WHERE a <> b
  LOOP
    FOR i IN 1..cardinality(v_scripts) LOOP
      IF strpos(v_scripts[i], v_one) > 0 AND strpos(v_scripts[i], v_other) > 0 THEN RETURN false; END IF;
    END LOOP;
  END LOOP;
  RETURN true;
END
$$;

REINDEX INDEX "user_account_by_name_skeleton";
REINDEX INDEX "user_account_by_name_skeleton_in_lower_case";
REINDEX INDEX "user_group_by_name_skeleton";
REINDEX INDEX "user_group_by_name_skeleton_in_lower_case";
REINDEX INDEX "channel_by_name_skeleton";
REINDEX INDEX "channel_by_name_skeleton_in_lower_case";
REINDEX INDEX "channel_folder_by_name_skeleton";
REINDEX INDEX "channel_folder_by_name_skeleton_in_lower_case";
REINDEX INDEX "profile_field_by_name_skeleton";
REINDEX INDEX "profile_field_by_name_skeleton_in_lower_case";
